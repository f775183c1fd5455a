// Command plugin is sarif; the package check has what it does.
package main

import _ "example.com/plugin/bindings/exports/wit_exports"

func main() {}
