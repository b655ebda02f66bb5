import { describe, expect, it } from 'vitest';
import { ConvoyError, toConvoyError } from '@convoy/api/errors/convoy-error';
import { errorTable } from '@convoy/api/errors/table';

describe('ConvoyError', () => {
  it('takes status and retry class from the table', () => {
    expect(new ConvoyError('redisUnavailable', 'Down.')).toMatchObject({
      name: 'ConvoyError',
      error: 'redisUnavailable',
      errorDescription: 'Down.',
      message: 'redisUnavailable: Down.',
      httpStatus: 503,
      retry: 'automatic',
    });
  });

  it("has the table's sentence as its default description", () => {
    expect(new ConvoyError('bodyTooLarge').errorDescription).toBe(errorTable.bodyTooLarge.sentence);
  });

  it('keeps its cause', () => {
    const cause = new Error('socket closed');
    expect(new ConvoyError('sourceUnavailable', undefined, { cause }).cause).toBe(cause);
  });
});

describe('toConvoyError', () => {
  it('leaves a ConvoyError as it is', () => {
    const error = new ConvoyError('notReady');
    expect(toConvoyError(error)).toBe(error);
  });

  it.each([new Error('password'), 'password', undefined, { error: 'notReady' }])(
    'hides anything else: %s',
    (thrown) => {
      const error = toConvoyError(thrown);
      expect(error).toMatchObject({ error: 'internalError', cause: thrown });
      expect(error.message).not.toContain('password');
    },
  );
});
