import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeLeft, encodeReport } from '../../../src/fleet/report-message.js';
import { seenReport } from '../director/snapshots.js';

describe('messages of members', () => {
  it('survive a round trip', () => {
    const { report } = seenReport('a', { failure: { error: 'documentTooLarge', errorDescription: 'Large.' } });
    expect(decodeMessage(encodeReport(report, 5, 7))).toEqual({
      kind: 'report',
      reportedAt_ms: 5,
      sequence: 7,
      report,
    });
    expect(decodeMessage(encodeLeft('a', 'a-1'))).toEqual({ kind: 'left', id: 'a', incarnation: 'a-1' });
  });

  it.each(['', '{', 'null', '{"kind":"report"}', '{"kind":"other"}', `"${'x'.repeat(300_000)}"`])(
    'are rejected when invalid (%#)',
    (text) => {
      expect(decodeMessage(text)).toBeNull();
    },
  );

  it('are rejected with an error outside the table', () => {
    const { report } = seenReport('a');
    const strange = { ...report, failure: { error: 'strange', errorDescription: '' } };
    expect(
      decodeMessage(JSON.stringify({ kind: 'report', reportedAt_ms: 1, sequence: 1, report: strange })),
    ).toBeNull();
  });
});
