import { Buffer } from 'node:buffer';
import { RawValue } from '../bson/scan.js';
import type { ChangeEvent } from './change-event.js';

/**
 * The same event with a copy of its bytes, for buffers. The views of the original keep its whole reply in memory, which
 * may be 16 MB.
 */
export function ownedEvent(event: ChangeEvent): ChangeEvent {
  const { id, documentKey, fullDocument, updateDescription } = event;
  const parts = [id.bytes, documentKey, fullDocument, updateDescription];
  // A slice of the common pool would keep the whole pool in memory.
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + (part?.length ?? 0), 0));
  let at = 0;
  const placed = (part: Uint8Array): Uint8Array => {
    bytes.set(part, at);
    at += part.length;
    return bytes.subarray(at - part.length, at);
  };
  return {
    ...event,
    id: new RawValue(id.type, placed(id.bytes)),
    documentKey: placed(documentKey),
    fullDocument: fullDocument === null ? null : placed(fullDocument),
    updateDescription: updateDescription === null ? null : placed(updateDescription),
  };
}
