import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** BSONObjectTooLarge, and what updates answer when a document would grow beyond 16 MB. */
const tooLargeCodes = new Set([10334, 17419, 17420]);

/** The named failure of a statement that no repetition mends; carries namespace and code, never values. */
export function writeRefused(collection: { database: string; name: string }, code: number): ConvoyError {
  const namespace = `${collection.database}.${collection.name}`;
  if (tooLargeCodes.has(code)) return new ConvoyError('documentTooLarge', `A document of ${namespace} is larger than the destination takes.`);
  return new ConvoyError('writeRefused', `The destination refused a write to ${namespace} with code ${code}.`);
}
