import { describe, expect, it } from 'vitest';
import { notifySchema } from '../../../src/configuration/notify-settings.js';

const receiver = { name: 'pager', url: 'https://pager.example/hook/hidden', secret: '0123456789abcdef' };

/** The problems of settings, with their paths. */
function problemsOf(settings: unknown): string[] {
  const { error } = notifySchema.safeParse(settings);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('settings of notifications', () => {
  it('have all events and the limits of the alert rules by default, and show no secret', () => {
    const settings = notifySchema.parse({ receivers: [receiver] });
    expect(settings).toMatchObject({
      receivers: [{ events: ['ready', 'committed', 'failed', 'lag', 'oplog'] }],
      lag: { raise_seconds: 300, clear_seconds: 60 },
      oplog: { raise_seconds: 3_600, clear_seconds: 7_200 },
    });
    expect(JSON.stringify(settings)).not.toMatch(/hidden|0123456789/);
  });

  it.each([
    [{ receivers: [] }, 'receivers: must not be empty'],
    [{ receivers: [receiver, receiver] }, 'receivers: each needs a name of its own'],
    [{ receivers: [{ ...receiver, url: 'ftp://x/' }] }, 'receivers.0.url: must be an address that begins with http'],
    [{ receivers: [{ ...receiver, secret: 'short' }] }, 'receivers.0.secret: must have at least 16 characters'],
    [{ receivers: [receiver], lag: { raise_seconds: 60 } }, 'lag: clear_seconds must be below raise_seconds'],
    [{ receivers: [receiver], oplog: { clear_seconds: 3_600 } }, 'oplog: clear_seconds must be above raise_seconds'],
  ])('%j is refused', (settings, problem) => {
    expect(problemsOf(settings).join('\n')).toContain(problem);
  });
});
