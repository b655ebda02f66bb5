import { describe, expect, it } from 'vitest';
import { inWindow } from '../../../../src/router/sharding/balancer-settings.js';

function active(start: string, stop: string, hours: number, minutes = 0): boolean {
  return inWindow(
    { mode: 'full', activeWindow: { start, stop }, waitForDelete: false },
    new Date(2024, 0, 1, hours, minutes),
  );
}

describe("the balancer's window", () => {
  it('lies within a day, or over midnight', () => {
    expect([active('09:00', '17:30', 8), active('09:00', '17:30', 9), active('09:00', '17:30', 17, 31)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([active('23:00', '6:00', 23), active('23:00', '6:00', 3), active('23:00', '6:00', 12)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('is always open when there is none', () => {
    expect(inWindow({ mode: 'full', activeWindow: undefined, waitForDelete: false }, new Date())).toBe(true);
  });
});
