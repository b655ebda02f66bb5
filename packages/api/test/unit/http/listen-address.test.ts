import { describe, expect, it } from 'vitest';
import { isLoopbackAddress, isLoopbackHost, splitHost } from '@convoy/api/http/listen-address';

describe('splitHost', () => {
  it.each([
    ['example.com', 'example.com', ''],
    ['Example.COM:8080', 'example.com', '8080'],
    ['example.com.:80', 'example.com', '80'],
    ['127.0.0.1:27182', '127.0.0.1', '27182'],
    ['[::1]:27182', '[::1]', '27182'],
    ['[FE80::1]', '[fe80::1]', ''],
  ])('splits %s', (text, host, port) => {
    expect(splitHost(text)).toEqual({ host, port });
  });

  it.each(['', ':80', 'a:b', 'a:1:2', 'user@host', 'a/b', '::1', '[::1', 'a b', 'localhost:', 'a?b'])(
    'refuses %j',
    (text) => {
      expect(splitHost(text)).toBeUndefined();
    },
  );
});

describe('local host', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', '[::1]', '::ffff:127.0.0.1'])('%s is its address', (address) => {
    expect(isLoopbackAddress(address)).toBe(true);
    expect(isLoopbackHost(address)).toBe(true);
  });

  it.each(['0.0.0.0', '::', '10.0.0.1', '::ffff:10.0.0.1', '127.evil.com', ''])('%j is not', (address) => {
    expect(isLoopbackHost(address)).toBe(false);
  });

  it('has the name localhost', () => {
    expect(isLoopbackHost('LocalHost')).toBe(true);
    expect(isLoopbackHost('localhost.evil.com')).toBe(false);
  });
});
