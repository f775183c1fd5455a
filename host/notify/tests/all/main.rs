//! Over real connections to servers of the tests.
