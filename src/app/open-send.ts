import type { Upstream } from '../catalog/catalog.ts'
import type { Closing } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { ResolveHost } from '../providers/address-guard.ts'
import { createDemoUpstream } from '../providers/demo/demo-upstream.ts'
import { createOriginPools, type OriginPools } from '../providers/origin-pools.ts'
import { createSend, type Send } from '../providers/send.ts'
import { readVersions } from './process.ts'

/** Opens the calls to providers. The network library is loaded before the first request, if a provider needs it. */
export async function openSend(
  {
    clock,
    random,
    resolveHost,
  }: { readonly clock: Clock; readonly random: RandomBytes; readonly resolveHost: ResolveHost },
  upstreams: readonly Upstream[],
  closing: Closing,
): Promise<{ readonly pools: OriginPools; readonly send: Send }> {
  const pools = createOriginPools({ resolve: resolveHost })
  closing.add(() => pools.close())
  if (upstreams.some((upstream) => upstream.wire !== 'demo')) await pools.warmUp()
  const send = createSend({
    demo: createDemoUpstream({ clock, random }),
    pools,
    nowMicros: clock.nowMicros,
    userAgent: `millrace/${readVersions().millrace}`,
  })
  return { pools, send }
}
