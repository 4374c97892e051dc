import type { Upstream } from '../../catalog/catalog.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Closing } from '../../lib/closing.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import { createDemoUpstream } from '../../upstream/demo/demo-upstream.ts'
import type { ResolveHost } from '../../upstream/guarded-connector.ts'
import { createOriginPools, type OriginPools } from '../../upstream/origin-pools.ts'
import { createSend, type Send } from '../../upstream/send.ts'
import { readVersions } from '../process/read-versions.ts'

interface SendGround {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly resolveHost: ResolveHost
}

/** The way to the providers. The library of the network is loaded before the first request, if any of them is out there. */
export async function openSend(
  { clock, random, resolveHost }: SendGround,
  upstreams: readonly Upstream[],
  closing: Closing,
): Promise<{ readonly pools: OriginPools; readonly send: Send }> {
  const pools = createOriginPools({ resolve: resolveHost })
  closing.add(() => pools.close())
  if (upstreams.some((upstream) => upstream.wire !== 'demo')) await pools.warmUp()
  const send = createSend({
    demo: createDemoUpstream({ clock, random }),
    pools,
    ticks: () => clock.ticks(),
    userAgent: `millrace/${readVersions().millrace}`,
  })
  return { pools, send }
}
