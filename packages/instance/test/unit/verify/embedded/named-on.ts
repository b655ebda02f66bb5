import { namespaceOf } from '../../../../src/catalog/namespace.js';
import type { Namespace } from '../../../../src/cluster/node-client.js';
import type { CollectionToVerify } from '../../../../src/verify/embedded/verification-plan.js';

/** A collection with the same name on both sides. */
export function namedOn(namespace: Namespace): Pick<CollectionToVerify, 'namespace' | 'on'> {
  return { namespace: namespaceOf(namespace), on: { source: namespace, destination: namespace } };
}
