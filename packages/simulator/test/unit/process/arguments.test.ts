import { describe, expect, it } from 'vitest';
import { parseArguments, UsageError, usage } from '../../../src/process/arguments.js';

describe('the command line', () => {
  it('without arguments asks for a cluster of two shards on free ports', () => {
    const { order, ...rest } = parseArguments([]);
    expect(rest).toEqual({ help: false, json: false, watchStdin: false, memoryMb: 4096 });
    expect(order).toEqual({ kind: 'cluster', shards: 2, routers: 1, port: 0, version: '8.0', auth: false, limits: {} });
  });

  it('sets every option', () => {
    const args = [
      '--shards',
      '3',
      '--routers=2',
      '--port',
      '27117',
      '--host',
      'demo-source',
      '--version',
      '7.0',
      '--memory-mb',
      '512',
      '--oplog-bytes',
      '1000',
      '--snapshot-window-seconds',
      '0',
      '--auth',
      '--json',
      '--watch-stdin',
    ];
    expect(parseArguments(args)).toEqual({
      help: false,
      json: true,
      watchStdin: true,
      memoryMb: 512,
      order: {
        kind: 'cluster',
        shards: 3,
        routers: 2,
        host: 'demo-source',
        port: 27_117,
        version: '7.0',
        auth: true,
        limits: { oplogBytesMax: 1000, snapshotWindowSeconds: 0 },
      },
    });
  });

  it('asks for a plain replica set', () => {
    expect(parseArguments(['--replica-set', '--port', '0']).order.kind).toBe('replicaSet');
  });

  it.each([
    [['--shard', '3'], /^Unknown option '--shard'\.$/],
    [['--shards'], /argument missing\.$/],
    [['more'], /^Unexpected argument 'more'\./],
    [['--shards', '0'], /^--shards takes a whole number from 1 to 64, not '0'\.$/],
    [['--shards', '1.5'], /^--shards takes a whole number/],
    [['--port', 'x'], /^--port takes a whole number from 0 to 65535/],
    [['--port', '65534'], /leaves no room for the 4 ports/],
    [['--version', '3.6'], /^--version takes one of 4\.4, 5\.0, 6\.0, 7\.0, 8\.0, not '3\.6'\.$/],
    [['--replica-set', '--shards', '2'], /^--replica-set starts one member/],
  ])('refuses %j in one sentence', (args, message) => {
    expect(() => parseArguments(args)).toThrow(UsageError);
    expect(() => parseArguments(args)).toThrow(message);
  });

  it('explains every option that it takes', () => {
    for (const option of [
      'shards',
      'routers',
      'replica-set',
      'version',
      'auth',
      'port',
      'oplog-bytes',
      'snapshot-window-seconds',
      'memory-mb',
      'watch-stdin',
      'json',
      'help',
    ]) {
      expect(usage).toContain(`\n  --${option} `);
    }
  });
});
