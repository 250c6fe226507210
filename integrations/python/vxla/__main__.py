from vxla._command import main

main()
