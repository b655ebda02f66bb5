/** The type bytes of the server's key strings. */
export const KeyType = {
  /** Ends a whole key string. */
  end: 4,
  minKey: 10,
  undefined: 15,
  null: 20,
  /** Stands for every number before a field name; alone it is NaN. */
  number: 30,
  string: 60,
  document: 70,
  array: 80,
  binary: 90,
  objectId: 100,
  /** False; true is one more. */
  boolean: 110,
  date: 120,
  timestamp: 130,
  regex: 140,
  dbPointer: 150,
  code: 160,
  codeWithScope: 170,
  maxKey: 240,
} as const;

/** The first bytes of numbers, in order of their size. */
export const NumberKeyType = {
  nan: 30,
  /** -2^63 and below. */
  negativeLarge: 31,
  /** Magnitudes of n bytes are n - 1 below. */
  negativeOneByte: 39,
  negativeEightBytes: 32,
  /** Between -1 and 0. */
  negativeSmall: 40,
  zero: 41,
  positiveSmall: 42,
  positiveOneByte: 43,
  positiveEightBytes: 50,
  positiveLarge: 51,
} as const;
