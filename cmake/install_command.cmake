# The command with what a shell and `man` look for: completions and a manual page, which the command itself writes when it is
# installed.
include(GNUInstallDirs)
install(TARGETS vxla RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)

# A command for another system cannot be run here; there `vxla completion` and `vxla help --man` write the same files.
function(install_what_vxla_prints words file destination)
  set(folder ${PROJECT_BINARY_DIR}/command)
  install(CODE "file(MAKE_DIRECTORY ${folder})
                execute_process(COMMAND $<TARGET_FILE:vxla> ${words} OUTPUT_FILE ${folder}/${file} COMMAND_ERROR_IS_FATAL ANY)"
          COMPONENT command)
  install(FILES ${folder}/${file} DESTINATION ${destination} COMPONENT command)
endfunction()
if(NOT CMAKE_CROSSCOMPILING)
  install_what_vxla_prints("completion bash" vxla ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install_what_vxla_prints("completion zsh" _vxla ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install_what_vxla_prints("completion fish" vxla.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install_what_vxla_prints("help --man" vxla.1 ${CMAKE_INSTALL_MANDIR}/man1)
endif()
