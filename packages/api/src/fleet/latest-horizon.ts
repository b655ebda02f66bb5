import type { Horizon } from './fleet.js';

/**
 * Which of two horizons says more. What a horizon says stays true, so that of one migration's the later counts, in
 * whatever order they arrive: a publication comes back to its own sender behind what it knows since.
 */
export function latestHorizon(known: Horizon | null, heard: Horizon): Horizon {
  if (known?.migration !== heard.migration) return heard;
  return heard.time > known.time ? heard : known;
}
