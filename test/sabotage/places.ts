import type { NamedTest } from './hazard.js';

/** A source of the engine. */
export function instance(path: string): string {
  return `packages/instance/src/${path}`;
}

/** A unit test of the engine. */
export function instanceTest(path: string, title: string): NamedTest {
  return { file: `packages/instance/test/unit/${path}`, title };
}

/** A source of the coordinator and of an instance's fleet. */
export function coordinator(path: string): string {
  return `packages/coordinator/src/${path}`;
}

/** A unit test of the coordinator. */
export function coordinatorTest(path: string, title: string): NamedTest {
  return { file: `packages/coordinator/test/unit/${path}`, title };
}

/** An integration test of the engine. */
export function integrationTest(path: string, title: string): NamedTest {
  return { file: `packages/instance/test/integration/${path}`, title };
}
