# rung_embed(LIBRARY FILE SYMBOL): the text of rung/LIBRARY/FILE as `const std::string_view rung::SYMBOL`, so that the
# file can be read, run and tested as what it is, and the program needs nothing beside it.
function(rung_embed library file symbol)
  set(source ${PROJECT_SOURCE_DIR}/rung/${library}/${file})
  set(generated ${PROJECT_BINARY_DIR}/embedded/${symbol}.cc)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  file(CONFIGURE OUTPUT ${generated} @ONLY
       CONTENT "#include <string_view>\nnamespace rung {\nextern const std::string_view @symbol@;\nconst std::string_view @symbol@ = R\"EMBEDDED(@text@)EMBEDDED\";\n}\n")
  target_sources(rung_${library} PRIVATE ${generated})
endfunction()
