import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { aggregateProgress } from '../../../src/director/aggregate.js';
import { EventStream, type StreamedState } from '../../../src/server/event-stream.js';
import { dashboardSource, progressSource } from '../../../src/server/fleet-streams.js';
import { NOW_MS, snapshot } from '../director/snapshots.js';

/** As many as the service accepts at once. */
const clientsMax = 100;
const fleet = snapshot({ a: {} });
const global = aggregateProgress(fleet, {
  seconds: 9,
  bytesPerSecond: 100,
  at_ms: NOW_MS,
  since_ms: NOW_MS,
  advancedAt_ms: NOW_MS,
});
const director = {
  watch: () => () => undefined,
  snapshot: () => fleet,
  progress: () => global,
  commandsSent: 0,
};

function response(isGone: boolean): ServerResponse {
  const stream = new ServerResponse(new IncomingMessage(new Socket()));
  if (isGone) stream.destroy();
  return stream;
}

test.each([
  ['pages', () => new EventStream(dashboardSource(director), NOW_MS)],
  ['clients of the progress', () => new EventStream(progressSource(director), NOW_MS)],
] as const)('%s that closed before they were added do not count', (_name, open) => {
  const streams = open();
  for (let client = 0; client < clientsMax; client += 1) streams.add(response(true));
  expect(streams.hasRoom()).toBe(true);
  for (let client = 0; client < clientsMax; client += 1) streams.add(response(false));
  expect(streams.hasRoom()).toBe(false);
  streams.close();
});

describe('a stream', () => {
  const gap_ms = 400;
  let state = 0;
  let notify: () => void;
  let stream: EventStream;

  beforeEach(() => {
    vi.useFakeTimers();
    state = 1;
    stream = new EventStream(
      {
        clientBytesMax: 100,
        watch: (listener) => {
          notify = listener;
          return () => undefined;
        },
        read: (): StreamedState => ({
          whole: { name: 'whole', data: String(state) },
          change: { name: 'change', data: `to ${state}` },
          gap_ms,
        }),
      },
      10,
    );
  });

  afterEach(() => {
    stream.close();
    vi.useRealTimers();
  });

  /** A client with what it got, as `id event data`. */
  function client(lastEventId?: string): { got: string[]; response: ServerResponse } {
    const got: string[] = [];
    const one = response(false);
    vi.spyOn(one, 'write').mockImplementation((text: string) => {
      got.push(text.trim().replace(/^id: (\S+)\nevent: (\S+)\ndata: /, '$1 $2 '));
      return true;
    });
    stream.add(one, lastEventId);
    return { got, response: one };
  }

  function become(next: number): void {
    state = next;
    notify();
  }

  test('sends the whole state, then changes, one per gap: the first at once, the last of the others at its end', () => {
    const { got } = client();
    become(2);
    become(3);
    become(4);
    expect(got).toEqual(['11 whole 1', '12 change to 2']);
    vi.advanceTimersByTime(gap_ms);
    expect(got.slice(2)).toEqual(['13 change to 4']);
  });

  test('sends the whole state to a client that missed one, once it has caught up', () => {
    const { got, response: slow } = client();
    const length = vi.spyOn(slow, 'writableLength', 'get').mockReturnValue(101);
    become(2);
    length.mockReturnValue(0);
    vi.advanceTimersByTime(gap_ms);
    become(3);
    expect(got).toEqual(['11 whole 1', '13 whole 3']);
    slow.emit('drain');
    expect(got).toHaveLength(2);
  });

  test('sends nothing again to a client that comes back with the current state', () => {
    client();
    expect(client('11').got).toEqual([]);
    expect(client('10').got).toEqual(['11 whole 1']);
  });
});
