/** What the running server says of its commits; undefined where it publishes no such series. */
export async function readMetrics(port) {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const series = new Map()
  for (const line of (await response.text()).split('\n')) {
    const match = /^([a-z_]+(?:\{[^}]*\})?) (\S+)$/.exec(line)
    if (match) series.set(match[1], Number(match[2]))
  }
  const commits = series.get('millrace_ledger_commit_seconds_count')
  return {
    commits,
    batchMean: series.get('millrace_ledger_batch_operations_sum') / commits,
    commitMs: {
      mean: (series.get('millrace_ledger_commit_seconds_sum') / commits) * 1000,
      p99: quantile(series, 0.99),
    },
    residentMb: series.get('process_resident_memory_bytes') / 1e6,
  }
}

/** The upper edge of the bucket that the quantile falls into, in milliseconds. */
function quantile(series, share) {
  const buckets = [...series].flatMap(([name, count]) => {
    const match = /^millrace_ledger_commit_seconds_bucket\{le="([^"]+)"\}$/.exec(name)
    return match ? [{ edge: match[1] === '+Inf' ? Number.POSITIVE_INFINITY : Number(match[1]), count }] : []
  })
  const total = series.get('millrace_ledger_commit_seconds_count')
  return 1000 * (buckets.find(({ count }) => count >= total * share)?.edge ?? Number.NaN)
}
