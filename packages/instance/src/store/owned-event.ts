import { Buffer } from 'node:buffer';
import { RawValue } from '../bson/scan.js';
import type { ChangeEvent } from './change-event.js';

/**
 * The same event with bytes of its own, for keeping: as it was read it keeps the whole reply it came in alive, which may be
 * 16 MB of events that are long done.
 */
export function ownedEvent(event: ChangeEvent): ChangeEvent {
  const { id, documentKey, fullDocument, updateDescription } = event;
  const parts = [id.bytes, documentKey, fullDocument, updateDescription];
  // From the common pool it would keep what others have there.
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
