import type { Counter, Registry } from 'prom-client'

/**
 * Families whose series are plain numbers until the metrics are read. Each turn counts in about twenty series; `labels` is called once
 * for each of them, so that no turn looks up or validates a label. The value of the first label says whose the series are: a model's, a
 * lane's.
 */
export interface Family<Child> {
  labels(...values: string[]): Child
  /** Drops the series of all others: what the configuration has removed goes away. */
  keepOnly(whose: ReadonlySet<string>): void
}

interface FamilyTerms {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
}

interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** What prom-client needs of a metric to render it. */
function register(registry: Registry, { name, help }: FamilyTerms, type: string, samples: () => Sample[]): void {
  const metric = { name, get: async () => ({ name, help, type, values: samples(), aggregator: 'sum' }) }
  registry.registerMetric(metric as unknown as Counter)
}

function createFamily<Child>(
  registry: Registry,
  terms: FamilyTerms & { readonly type: string },
  create: () => { readonly child: Child; samples(labels: Readonly<Record<string, string>>): Sample[] },
): Family<Child> {
  const series = new Map<string, { readonly values: readonly string[]; readonly made: ReturnType<typeof create> }>()
  const labelled = (values: readonly string[]) =>
    Object.fromEntries(terms.labelNames.map((name, index) => [name, values[index] ?? '']))
  register(registry, terms, terms.type, () =>
    [...series.values()].flatMap(({ values, made }) => made.samples(labelled(values))),
  )
  return {
    labels(...values) {
      const key = JSON.stringify(values)
      const { made } = series.get(key) ?? { made: create() }
      series.set(key, { values, made })
      return made.child
    },
    keepOnly(whose) {
      for (const [key, { values }] of series) if (!whose.has(values[0] ?? '')) series.delete(key)
    },
  }
}

/** Only grows. A series is rendered from its creation on, at zero: an alert sees its first increase. */
export function createCounterFamily(registry: Registry, terms: FamilyTerms) {
  return createFamily(registry, { ...terms, type: 'counter' }, () => {
    let count = 0
    return {
      child: {
        inc(by = 1): void {
          count += by
        },
      },
      samples: (labels) => [{ labels, value: count }],
    }
  })
}

export function createHistogramFamily(
  registry: Registry,
  terms: FamilyTerms & { readonly buckets: readonly number[] },
) {
  const { name, buckets } = terms
  return createFamily(registry, { ...terms, type: 'histogram' }, () => {
    // The last one is for what no bucket holds.
    const counts = new Array<number>(buckets.length + 1).fill(0)
    let sum = 0
    return {
      child: {
        observe(value: number): void {
          let bucket = 0
          while (bucket < buckets.length && value > buckets[bucket]!) bucket++
          counts[bucket]! += 1
          sum += value
        },
      },
      samples(labels) {
        let below = 0
        const inBuckets = counts.map((count, bucket) => {
          below += count
          return { metricName: `${name}_bucket`, labels: { le: buckets[bucket] ?? '+Inf', ...labels }, value: below }
        })
        return [
          ...inBuckets,
          { metricName: `${name}_sum`, labels, value: sum },
          { metricName: `${name}_count`, labels, value: below },
        ]
      },
    }
  })
}

export type CounterChild = ReturnType<ReturnType<typeof createCounterFamily>['labels']>
