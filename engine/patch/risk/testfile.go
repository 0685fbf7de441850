package risk

import (
	"path"
	"slices"
	"strings"
)

// testEndings are ends of names that test code has where languages and their
// runners have a custom (RSpec, minitest, PHPUnit, JUnit, NUnit, XCTest, ExUnit,
// GoogleTest, dart test, ScalaTest), with the letter case that tells FooTest from
// contest. VerifierFile keeps to AgentDiff's list.
var testEndings = strings.Fields("_spec.rb _test.rb Test.php Test.java Tests.java IT.java Test.kt Tests.kt Spec.kt Test.cs Tests.cs Tests.swift Test.swift " +
	"_test.exs _test.cc _test.cpp _unittest.cc _unittest.cpp _test.dart Spec.scala Test.scala Suite.scala Spec.groovy _test.lua _spec.lua _test.clj _test.ml _test.zig")

// testCode reports a file of test code: by its name, or as code in a folder of tests.
func testCode(p string) bool {
	_, known := testForms[strings.ToLower(path.Ext(p))]
	if TestFile(p) || known && VerifierFile(p) {
		return true
	}
	base := path.Base(p)
	for _, end := range testEndings {
		if strings.HasSuffix(base, end) {
			return true
		}
	}
	parts := strings.Split(strings.ToLower(base), ".")
	if n := len(parts); n >= 3 && slices.Contains(strings.Fields("mjs cjs mts cts vue svelte"), parts[n-1]) {
		return parts[n-2] == "test" || parts[n-2] == "spec"
	} else if n >= 3 {
		return parts[n-2] == "cy" || parts[n-2] == "e2e"
	}
	return false
}

// Folders and endings of what tests compare with: snapshots, golden files, recorded
// answers, fixtures. Data in a folder of tests is taken for it, too.
var (
	expectedFolders = set("__snapshots__ __image_snapshots__ __file_snapshots__ __fixtures__ testdata test-data test_data fixtures golden goldens goldenfiles cassettes __cassettes__")
	expectedEnds    = strings.Fields(".snap .golden .gold .ambr .expected .approved")
	expectedInfixes = strings.Fields(".golden. .approved. .verified. .expected.")
	dataFolders     = set("test tests __tests__ e2e")
	dataEnds        = set(".json .jsonl .ndjson .yaml .yml .xml .txt .csv .tsv .out .stdout .stderr .html .sql .svg .png .jpg .pdf .bin .proto .har .ir .wat .txtar")
)

// expected reports a file that tests compare with.
func expected(p string) bool {
	low := strings.ToLower(p)
	dir, base := path.Split(low)
	if strings.HasPrefix(base, "readme") {
		return false
	}
	for _, end := range expectedEnds {
		if strings.HasSuffix(base, end) {
			return true
		}
	}
	for _, mid := range expectedInfixes {
		if strings.Contains(base, mid) {
			return true
		}
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if expectedFolders[part] || dataFolders[part] && dataEnds[path.Ext(base)] {
			return true
		}
	}
	return false
}

// manyInOne reports a file of many expected values, to which a new test adds its
// own: the snapshots of Jest and Vitest, and of syrupy.
func manyInOne(t Text) bool {
	return strings.HasSuffix(t.Path, ".ambr") || strings.HasSuffix(t.Path, ".snap") && strings.Contains(t.Before, "exports[`")
}
