import { located } from '../query/query-error.js';

const dbReference: ReadonlySet<string> = new Set(['$id', '$ref', '$db']);
const hint = 'Consider using $getField or $setField.';

/**
 * The names of a dotted path of a projection or expression.
 * @throws CommandError 40352, 40353, 15998 or 16410 for names that are empty or begin with a dollar
 */
export function checkedPath(text: string): string[] {
  if (text === '') throw located(40352, 'FieldPath cannot be constructed with empty string');
  if (text.endsWith('.')) throw located(40353, "FieldPath must not end with a '.'.");
  const names = text.split('.');
  for (const name of names) {
    if (name === '') throw located(15998, 'FieldPath field names may not be empty strings.');
    if (name.startsWith('$') && !dbReference.has(name))
      throw located(16410, `FieldPath field names may not start with '$'. ${hint}`);
  }
  return names;
}

/** @throws CommandError for a name that no field of a computed document may have */
export function refuseFieldName(name: string): void {
  if (name === '') throw located(15998, 'FieldPath field names may not be empty strings.');
  if (name.startsWith('$') && !dbReference.has(name))
    throw located(16410, `FieldPath field names may not start with '$'. ${hint}`);
  if (name.includes('.')) throw located(16412, `FieldPath field names may not contain '.'. ${hint}`);
}
