import { describe, expect, it } from 'vitest';
import type { Json } from '../../conformance/corpus-file.js';
import { maskReply } from '../../conformance/mask-reply.js';

const roles = new Map<string, string>();
const recordedId = { $oid: '6b01600887ecc78cdcacebaf' };

function drawn(...ids: Json[]): Json {
  return { cursor: { firstBatch: ids.map((_id) => ({ _id })) } };
}

describe('maskReply', () => {
  it('lets the same stand for drawn documents whatever the type of their _id', () => {
    const asked = { subject: 'aggregate $sample', step: '03-crud:33' };
    const recorded = maskReply(drawn(recordedId, recordedId, recordedId, recordedId), asked, roles);
    const others = [
      { $numberInt: '7' },
      'text',
      { $oid: '000000000000000000000001' },
      { $oid: '6b01700887ecc78cdcacebaf' },
    ];
    expect(maskReply(drawn(...others), asked, roles)).toEqual(recorded);
  });

  it('distinguishes generated _ids from others where nothing is drawn', () => {
    const asked = { subject: 'find ranged', step: '03-crud:20' };
    expect(maskReply(drawn({ $numberInt: '7' }), asked, roles)).not.toEqual(maskReply(drawn(recordedId), asked, roles));
  });
});
