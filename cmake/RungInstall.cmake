# The installed tree: bin/rung, the libraries with their headers, a CMake package that finds itself wherever the tree
# is moved to, the man page and the completion (both written by the program), the pages; and the .deb made of it.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY RUNG_LIBRARIES)
install(TARGETS ${libraries} EXPORT rungTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(library ${libraries})
  string(REPLACE "rung_" "" folder ${library})
  install(DIRECTORY rung/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rung FILES_MATCHING PATTERN "*.h")
endforeach()
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rung)
install(EXPORT rungTargets NAMESPACE rung:: DESTINATION ${package_folder})
configure_package_config_file(cmake/rungConfig.cmake.in ${PROJECT_BINARY_DIR}/rungConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rungConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rungConfig.cmake ${PROJECT_BINARY_DIR}/rungConfigVersion.cmake
        DESTINATION ${package_folder})

install(TARGETS rung-check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET rung-learn)
  # Started by rung, not by a person.
  install(TARGETS rung-learn RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rung)
endif()
if(TARGET rung-mpi)
  # Loaded by rung and rung-learn where mpirun or srun started several ranks.
  install(TARGETS rung-mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rung)
endif()
if(TARGET rung)
  install(TARGETS rung RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/rung.1 DEPENDS rung VERBATIM
                     COMMAND rung help --man > ${PROJECT_BINARY_DIR}/rung.1)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/rung.bash DEPENDS rung VERBATIM
                     COMMAND rung help --completion bash > ${PROJECT_BINARY_DIR}/rung.bash)
  add_custom_target(manual ALL DEPENDS ${PROJECT_BINARY_DIR}/rung.1 ${PROJECT_BINARY_DIR}/rung.bash)
  install(FILES ${PROJECT_BINARY_DIR}/rung.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/rung.bash RENAME rung
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/*.bib)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff LICENSE packaging/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
file(GLOB experiments CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/experiments/*.toml)
install(FILES ${experiments} DESTINATION ${CMAKE_INSTALL_DOCDIR}/experiments)
# Records that came with the program: rung report shows them beside the user's own.
file(GLOB results CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/results/*.json)
install(FILES ${results} DESTINATION ${CMAKE_INSTALL_DATADIR}/rung/results)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rung)
set(CPACK_PACKAGE_CONTACT "The rung authors <rung@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# For those who link the libraries.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, libfmt-dev, nlohmann-json3-dev, libsqlite3-dev, libsqlitecpp-dev")
include(CPack)
