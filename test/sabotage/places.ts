import type { NamedTest } from './hazard.js';

/** A source of the engine. */
export function instance(path: string): string {
  return `packages/instance/src/${path}`;
}

/** A unit test of the engine. */
export function instanceTest(path: string, title: string): NamedTest {
  return { file: `packages/instance/test/unit/${path}`, title };
}

/** An integration test of the engine. */
export function integrationTest(path: string, title: string): NamedTest {
  return { file: `packages/instance/test/integration/${path}`, title };
}
