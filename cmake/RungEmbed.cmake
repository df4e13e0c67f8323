# rung_embed(LIBRARY FILE SYMBOL): the text of FILE as `const std::string_view rung::SYMBOL`, so that the
# file can be read, run and tested as what it is, and the program needs nothing beside it.
function(rung_embed library file symbol)
  set(source ${PROJECT_SOURCE_DIR}/${file})
  set(generated ${PROJECT_BINARY_DIR}/embedded/${symbol}.cc)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  file(CONFIGURE OUTPUT ${generated} @ONLY
       CONTENT "#include <string_view>\nnamespace rung {\nextern const std::string_view @symbol@;\nconst std::string_view @symbol@ = R\"EMBEDDED(@text@)EMBEDDED\";\n}\n")
  target_sources(rung_${library} PRIVATE ${generated})
endfunction()

# rung_embed_configs(LIBRARY FOLDER SYMBOL): rung/LIBRARY/FOLDER/*.json as `const std::span<const EmbeddedConfig> rung::SYMBOL`, by name.
function(rung_embed_configs library folder symbol)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/rung/${library}/${folder}/*.json)
  set(entries "")
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    file(READ ${file} text)
    string(APPEND entries "    {\"${name}\", R\"EMBEDDED(${text})EMBEDDED\"},\n")
  endforeach()
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded/${symbol}.cc @ONLY
       CONTENT "#include \"rung/released/embedded_config.h\"\nnamespace rung {\nnamespace {\nconstexpr EmbeddedConfig kFiles[] = {\n@entries@};\n}\nconst std::span<const EmbeddedConfig> @symbol@(kFiles);\n}\n")
  target_sources(rung_${library} PRIVATE ${PROJECT_BINARY_DIR}/embedded/${symbol}.cc)
endfunction()
