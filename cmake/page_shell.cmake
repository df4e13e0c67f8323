# cmake -D WEB=.. -D OUT=.. -D WORK=.. -D ESBUILD=.. -D CHART_JS=.. -D KATEX_JS=.. -D KATEX_CSS=.. -D KATEX_FONTS=.. -P page_shell.cmake:
# web/ bundled into two texts of a C++ source: the page with its style, and its script.
function(bundle)
  execute_process(COMMAND ${ESBUILD} ${ARGN} --bundle --minify --log-level=warning --target=chrome100,firefox100,safari15 RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "esbuild failed on ${ARGN}")
  endif()
endfunction()

# KaTeX's rules without its sixty font files: the few that the page uses are inlined.
file(READ ${KATEX_CSS} rules)
string(REGEX REPLACE "@font-face[ \n]*{[^}]*}" "" rules "${rules}")
set(faces "")
foreach(face "Main-Regular|KaTeX_Main|normal|400" "Main-Bold|KaTeX_Main|normal|700" "Main-Italic|KaTeX_Main|italic|400"
             "Math-Italic|KaTeX_Math|italic|400" "AMS-Regular|KaTeX_AMS|normal|400" "Size1-Regular|KaTeX_Size1|normal|400"
             "Size2-Regular|KaTeX_Size2|normal|400" "Size3-Regular|KaTeX_Size3|normal|400")
  string(REPLACE "|" ";" face ${face})
  list(GET face 0 file)
  list(GET face 1 family)
  list(GET face 2 slant)
  list(GET face 3 weight)
  string(APPEND faces "@font-face { font-family: ${family}; src: url(\"${KATEX_FONTS}/KaTeX_${file}.woff2\") format(\"woff2\"); font-style: ${slant}; font-weight: ${weight}; font-display: swap }\n")
endforeach()
file(MAKE_DIRECTORY ${WORK})
file(WRITE ${WORK}/katex.css "${faces}${rules}")
file(WRITE ${WORK}/page.css "@import \"./katex.css\";\n@import \"${WEB}/page.css\";\n")

bundle(${WEB}/page.js --format=iife --legal-comments=inline --outfile=${WORK}/page.min.js --alias:chart.js=${CHART_JS} --alias:katex=${KATEX_JS})
bundle(${WORK}/page.css --outfile=${WORK}/page.min.css --loader:.woff2=dataurl)
file(READ ${WEB}/page.html html)
file(READ ${WORK}/page.min.js script)
file(READ ${WORK}/page.min.css style)
string(FIND "${script}" "</script" ending)
if(NOT ending EQUAL -1)
  message(FATAL_ERROR "the bundled script ends its own element")
endif()
string(REPLACE "/*STYLE*/" "${style}" html "${html}")
file(WRITE ${OUT}.new "#include \"rung/report/page.h\"\nnamespace rung::report {\nconst PageShell kPageShell = {\n.html = R\"EMBEDDED(${html})EMBEDDED\",\n.script = R\"EMBEDDED(${script})EMBEDDED\"};\n}\n")
file(RENAME ${OUT}.new ${OUT})
