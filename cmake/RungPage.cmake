# rung_page(LIBRARY): the report's page as one HTML text inside the library. web/*.js and web/*.css are bundled by esbuild with
# Chart.js and KaTeX as Debian ships them (their licences, MIT and OFL, stay in the page), and written into a source file.
# Without esbuild or a library the page is left out, and `rung report` says what is missing.
find_program(ESBUILD esbuild)
find_file(CHART_JS chart.mjs PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH)
find_file(KATEX_JS katex.mjs PATHS /usr/share/javascript/katex NO_DEFAULT_PATH)
find_file(KATEX_CSS katex.css PATHS /usr/share/javascript/katex NO_DEFAULT_PATH)
find_path(KATEX_FONTS KaTeX_Main-Regular.woff2 PATHS /usr/share/fonts/truetype/katex /usr/share/javascript/katex/fonts NO_DEFAULT_PATH)

function(rung_page library)
  set(shell ${PROJECT_BINARY_DIR}/embedded/page_shell.cc)
  set(missing)
  foreach(piece "ESBUILD:esbuild" "CHART_JS:libjs-chart.js" "KATEX_JS:libjs-katex" "KATEX_CSS:libjs-katex" "KATEX_FONTS:fonts-katex")
    string(REPLACE ":" ";" piece ${piece})
    list(GET piece 0 found)
    list(GET piece 1 package)
    if(NOT ${found})
      list(APPEND missing ${package})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing " " missing)
  if(missing)
    message(STATUS "Left out: the page of rung report (missing Debian packages: ${missing})")
    file(CONFIGURE OUTPUT ${shell} @ONLY
         CONTENT "#include \"rung/report/page.h\"\nnamespace rung::report {\nconst PageShell kPageShell = {.missing = \"@missing@\"};\n}\n")
  else()
    file(GLOB_RECURSE parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*.js ${PROJECT_SOURCE_DIR}/web/*.css ${PROJECT_SOURCE_DIR}/web/*.html)
    add_custom_command(
      OUTPUT ${shell} VERBATIM
      DEPENDS ${parts} ${PROJECT_SOURCE_DIR}/cmake/page_shell.cmake
      COMMENT "Bundling the report's page"
      COMMAND ${CMAKE_COMMAND} -D WEB=${PROJECT_SOURCE_DIR}/web -D OUT=${shell} -D WORK=${PROJECT_BINARY_DIR}/web -D ESBUILD=${ESBUILD}
              -D CHART_JS=${CHART_JS} -D KATEX_JS=${KATEX_JS} -D KATEX_CSS=${KATEX_CSS} -D KATEX_FONTS=${KATEX_FONTS}
              -P ${PROJECT_SOURCE_DIR}/cmake/page_shell.cmake)
  endif()
  target_sources(rung_${library} PRIVATE ${shell})
endfunction()
