import type { ProbeServices } from '../admin/probe.ts'
import type { Upstream } from '../catalog/catalog.ts'
import type { Config } from '../config/config.ts'
import { type Closing, createClosing } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { mintIdsOf } from '../protocols/shared/codec-types.ts'
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

interface CallServices {
  readonly config: Pick<Config, 'bounds'>
  readonly clock: Clock
  readonly random: RandomBytes
  readonly resolveHost: ResolveHost
}

/** For calls of the operator, with connections of their own that end with them. */
export async function callProviders<Value>(
  { config, clock, random, resolveHost }: CallServices,
  upstreams: readonly Upstream[],
  use: (services: ProbeServices) => Promise<Value>,
): Promise<Value> {
  const closing = createClosing()
  try {
    const { send } = await openSend({ clock, random, resolveHost }, upstreams, closing)
    const { frameBytesMax } = config.bounds
    const { now, nowMicros } = clock
    return await use({ send, mint: mintIdsOf(random), frameBytesMax, now: () => now(), nowMicros: () => nowMicros() })
  } finally {
    await closing.close()
  }
}
