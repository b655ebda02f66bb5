import { expect, it } from 'vitest';
import { Waits } from '../../../src/cluster/waits.js';

it('are those of everybody who waits, each once and in order, until he leaves', () => {
  const waits = new Waits();
  const [call, stream] = [
    { from: 'cluster0 router', what: 'find of shop.orders' },
    { from: 'cluster0 router', what: 'a stream' },
  ];
  const leave = waits.add(() => [call, call]);
  waits.add(() => [call, stream]);
  expect(waits.present).toEqual([stream, call]);
  leave();
  waits.add(() => [{ from: 'cluster1 router', what: 'a' }]);
  expect(waits.present.map(({ from }) => from)).toEqual(['cluster0 router', 'cluster0 router', 'cluster1 router']);
});
