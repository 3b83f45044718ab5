module programs

go 1.24

require {{go.module}} v{{version}}
