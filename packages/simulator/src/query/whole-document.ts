import { Buffer } from 'node:buffer';
import { asBuffer, ElementType } from '../bson/element-type.js';
import type { Doc } from '../bson/value.js';
import { isNumber } from '../bson/exact-number.js';
import { isTrue } from '../node/doc-fields.js';

/**
 * The projection `{_id: 0, name: '$$ROOT'}`, which puts the whole document into a field without changing its bytes.
 * @returns a function of a document's bytes; undefined for any other projection
 */
export function wholeDocumentProjection(projection: Doc | undefined): ((bytes: Uint8Array) => Uint8Array) | undefined {
  if (projection?.size !== 2) return undefined;
  const id = projection.get('_id');
  const [name] = [...projection].find(([, value]) => value === '$$ROOT') ?? [];
  if (
    name === undefined ||
    name.startsWith('$') ||
    name.includes('.') ||
    !(id === false || (isNumber(id) && !isTrue(id)))
  )
    return undefined;
  const head = Buffer.concat([Buffer.alloc(4), Buffer.of(ElementType.document), Buffer.from(`${name}\0`)]);
  return (bytes) => {
    const whole = Buffer.concat([head, asBuffer(bytes), Buffer.alloc(1)]);
    whole.writeInt32LE(whole.length, 0);
    return whole;
  };
}
