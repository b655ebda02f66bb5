/** Server error codes that the catalog's steps expect: all but 359 were seen on 5.0, that one is from the 6.0 error list. */
export const serverCode = {
  badValue: 2,
  unauthorized: 13,
  typeMismatch: 14,
  alreadyInitialized: 23,
  namespaceNotFound: 26,
  indexNotFound: 27,
  namespaceExists: 48,
  commandNotFound: 59,
  cannotCreateIndex: 67,
  indexAlreadyExists: 68,
  invalidOptions: 72,
  indexOptionsConflict: 85,
  indexKeySpecsConflict: 86,
  invalidIndexSpecificationOption: 197,
  cannotConvertIndexToUnique: 359,
  duplicateKey: 11000,
  twoHashedFields: 31303,
  unknownField: 40415,
} as const;

/** The code of a server's error, or undefined for anything else (a lost connection, a defect). */
export function codeOf(thrown: unknown): number | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'number' ? thrown.code : undefined;
}

/** The name of a server's error code for descriptions; never its message, which may hold values. */
export function codeNameOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null && 'codeName' in thrown && typeof thrown.codeName === 'string') {
    return thrown.codeName;
  }
  const code = codeOf(thrown);
  return code === undefined ? 'unknown error' : `code ${code}`;
}
