import { duplicateKeyCode } from '../cluster/failure.js';

/** Server error codes that the catalog's steps expect: all but 359 were seen on 5.0; 359 is from the 6.0 error list. */
export const serverCode = {
  badValue: 2,
  failedToParse: 9,
  typeMismatch: 14,
  alreadyInitialized: 23,
  namespaceNotFound: 26,
  indexNotFound: 27,
  namespaceExists: 48,
  indexAlreadyExists: 68,
  invalidOptions: 72,
  indexOptionsConflict: 85,
  commandNotSupportedOnView: 166,
  cannotConvertIndexToUnique: 359,
  duplicateKey: duplicateKeyCode,
  backgroundOperationInProgress: 12587,
  databaseDifferCase: 13297,
} as const;
