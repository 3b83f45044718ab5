module programs

go 1.25

require {{go.module}} v{{version}}
