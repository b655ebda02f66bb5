import { CommandError } from '../../node/command.js';

/** Characters that preparation turns into a space, and those it leaves out (RFC 3454, tables C.1.2 and B.1). */
const spaces = /[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/gu;
const nothing = /\u00ad|\u034f|\u1806|[\u180b-\u180d]|\u200c|\u200d|\u2060|[\ufe00-\ufe0f]|\ufeff/gu;
/** Control, private use, non-character and unassigned-like characters that no password may hold (tables C.2 to C.9). */
const prohibited = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u06dd\\u070f\\u180e\\u2028\\u2029' +
    '\\u2061-\\u2063\\u206a-\\u206f\\ufff9-\\ufffd\\ue000-\\uf8ff\\ufdd0-\\ufdef]',
  'u',
);

/**
 * A password as SCRAM-SHA-256 uses it (SASLprep, RFC 4013).
 * @throws CommandError 50692 for characters that are not allowed
 */
export function preparedPassword(password: string): string {
  const prepared = password.replace(nothing, '').replace(spaces, ' ').normalize('NFKC');
  if (prohibited.test(prepared))
    throw new CommandError(50692, 'Location50692', 'Error preflighting normalization: U_STRINGPREP_PROHIBITED_ERROR');
  return prepared;
}
