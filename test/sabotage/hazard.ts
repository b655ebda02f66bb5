/** A test by its file and its title as it stands there (without those of the groups around it). */
export interface NamedTest {
  file: string;
  title: string;
}

/** An edit that takes one handling of a hazard out of the sources, and the tests that have to notice it. */
export interface Sabotage {
  /** What no longer happens, in a few words. */
  takesOut: string;
  /** Path from the repository's folder. */
  file: string;
  /** The function, method or constant that the handling is part of. */
  symbol: string;
  /** Text that occurs in the file exactly once. */
  find: string;
  replace: string;
  /** Each of them has to fail. */
  tests: readonly NamedTest[];
}

/** A way in which migrations have lost, duplicated or blocked data, and its handling. */
export interface Hazard {
  number: number;
  hazard: string;
  handling: string;
  /** What is not handled yet; absent if everything is. */
  open?: string;
  sabotages: readonly Sabotage[];
}
