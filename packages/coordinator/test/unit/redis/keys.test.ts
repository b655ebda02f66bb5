import { describe, expect, it } from 'vitest';
import { fleetKeys } from '../../../src/redis/keys.js';

describe('fleetKeys', () => {
  const keys = fleetKeys('blue', 'app:');
  const all = [
    keys.members,
    keys.leader,
    keys.reportsChannel,
    keys.leaderChannel,
    keys.wakeChannel,
    keys.ddlWatermarkChannel,
    keys.queuePrefix,
    keys.identity('a'),
    keys.report('a'),
    keys.left('a'),
  ];

  it('prepends the prefix and the fleet’s hash tag to every name', () => {
    for (const key of all) expect(key.startsWith('app:{convoy:blue}:')).toBe(true);
    expect(new Set(all).size).toBe(all.length);
  });

  it('names queues without colons and without collisions', () => {
    expect(keys.queueName('a:b')).toBe('commands-a%3Ab');
    expect(keys.queueName('a%3Ab')).not.toBe(keys.queueName('a:b'));
  });

  it.each(['', 'a b', 'a}', '{a', 'a*', 'ä', 'a'.repeat(65)])('rejects %j as a fleet name', (name) => {
    expect(() => fleetKeys(name, '')).toThrow('invalidConfiguration');
  });
});
