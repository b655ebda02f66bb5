import type { ReleaseSeries } from '@convoy/simulator/node/server-version';

const from60 = ['wrong-uuid-is-refused'];
const from70 = [...from60, 'rename-ends-older-times', 'rename-ends-cursors'];

/** What simulated servers of a release answer otherwise than its own servers, as far as is known. A test sees to it that no entry outlives its reason. */
export const simulatorDiffers: Readonly<Partial<Record<ReleaseSeries, readonly string[]>>> = {
  '6.0': from60,
  '7.0': from70,
  '8.0': from70,
};
