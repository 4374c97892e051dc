import { lookup } from 'node:dns/promises'
import type { ResolveHost } from '../upstream/guarded-connector.ts'

/** As the machine resolves names, its hosts file included. */
export const resolveHost: ResolveHost = (host) => lookup(host, { all: true })
