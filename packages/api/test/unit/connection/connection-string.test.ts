import { describe, expect, test } from 'vitest';
import { ConvoyError } from '../../../src/errors/convoy-error.js';
import { displayHost, parseConnectionString, redirected, userOf } from '../../../src/connection/connection-string.js';

describe('a connection string', () => {
  const text =
    'mongodb://us%40er:p%3Aw@a.example:27017,b.example/admin?tls=true&replicaSet=rs0&tlsCAFile=%2Fetc%2Fca%20file.pem';

  test('is parsed', () => {
    const parts = parseConnectionString(text);
    expect(parts).toMatchObject({
      srv: false,
      userinfo: 'us%40er:p%3Aw',
      hosts: ['a.example:27017', 'b.example'],
      database: 'admin',
    });
    expect(userOf(text)).toBe('us@er');
    expect(userOf('mongodb://a')).toBeNull();
  });

  test('gives another node the same settings', () => {
    const there = redirected(parseConnectionString(text), {
      hosts: ['c:1', 'd:2'],
      options: { replicaSet: null, directConnection: 'true' },
    });
    expect(there).toBe(
      'mongodb://us%40er:p%3Aw@c:1,d:2/admin?tls=true&tlsCAFile=%2Fetc%2Fca%20file.pem&directConnection=true',
    );
  });

  test('gives a shard its own credentials', () => {
    const parts = parseConnectionString('mongodb://u:p@a/?authMechanism=SCRAM-SHA-256&authSource=x');
    const there = redirected(parts, {
      hosts: ['c:1'],
      options: { replicaSet: 's0' },
      credentials: { user: 'n@me', password: 'p/w', authSource: 'admin' },
    });
    expect(there).toBe('mongodb://n%40me:p%2Fw@c:1/?authSource=admin&replicaSet=s0');
  });

  test('shows its first host', () => {
    expect(displayHost(text)).toBe('a.example:27017');
    expect(displayHost('mongodb://b.example,c')).toBe('b.example:27017');
    expect(displayHost('mongodb://[::1]:28000')).toBe('[::1]:28000');
    expect(displayHost('mongodb+srv://u:p@cluster.example/')).toBe('cluster.example');
  });

  test('of another form is refused without being shown', () => {
    for (const wrong of ['', 'http://secret', 'mongodb://', 'secret']) {
      const attempt = () => parseConnectionString(wrong);
      expect(attempt).toThrow(ConvoyError);
      expect(attempt).not.toThrow(/secret/);
    }
  });
});
