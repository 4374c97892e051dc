const PREFIX = 'millrace_ledger'
const LINE = /^([a-z_]+(?:\{[^}]*\})?) (\S+)$/

/** What the running server says of its commits and its memory. */
export async function readMetrics(port) {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const series = new Map()
  for (const line of (await response.text()).split('\n')) {
    const match = LINE.exec(line)
    if (match) series.set(match[1], Number(match[2]))
  }
  return series
}

/** The commits of several lives together, and the memory of each at its end. */
export function createCommitStatistics() {
  const sums = new Map()
  const resident = []
  const of = (name) => sums.get(`${PREFIX}_${name}`) ?? 0
  return {
    add(series) {
      resident.push(series.get('process_resident_memory_bytes') / 1e6)
      for (const [name, value] of series) {
        if (name.startsWith(PREFIX)) sums.set(name, (sums.get(name) ?? 0) + value)
      }
    },
    summary: () => ({
      commits: of('commit_seconds_count'),
      batch: {
        mean: of('batch_operations_sum') / of('batch_operations_count'),
        p99: quantile(sums, 'batch_operations', 0.99),
      },
      commitMs: {
        p50: 1000 * quantile(sums, 'commit_seconds', 0.5),
        p99: 1000 * quantile(sums, 'commit_seconds', 0.99),
      },
      residentMb: { first: resident[0], last: resident.at(-1), most: Math.max(...resident) },
    }),
  }
}

/** The upper edge of the bucket that the quantile falls into. */
function quantile(sums, name, share) {
  const label = new RegExp(`^${PREFIX}_${name}_bucket\\{le="([^"]+)"\\}$`)
  const buckets = [...sums].flatMap(([series, count]) => {
    const match = label.exec(series)
    return match ? [{ edge: match[1] === '+Inf' ? Number.POSITIVE_INFINITY : Number(match[1]), count }] : []
  })
  const total = sums.get(`${PREFIX}_${name}_count`)
  return buckets.sort((a, b) => a.edge - b.edge).find(({ count }) => count >= total * share)?.edge ?? Number.NaN
}
