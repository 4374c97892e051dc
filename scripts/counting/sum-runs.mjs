import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** By path below `dist`: whether each character of a built file ran. `coverageResults` are V8's coverage results. */
export function sumRuns(coverageResults, dist) {
  const base = pathToFileURL(dist).href
  const ran = new Map()
  for (const scripts of coverageResults) {
    for (const { url, functions } of scripts) {
      if (!url.startsWith(base) || !functions.some(({ ranges }) => ranges.some(({ count }) => count > 0))) continue
      const path = relative(dist, fileURLToPath(url)).replaceAll('\\', '/')
      const sum = ran.get(path) ?? emptyFor(join(dist, path))
      ran.set(path, sum)
      if (sum !== undefined) add(sum, functions)
    }
  }
  return ran
}

/** Files that a test created and removed are skipped. */
function emptyFor(path) {
  try {
    return new Uint8Array(readFileSync(path, 'utf8').length)
  } catch {
    return undefined
  }
}

/** Functions and blocks are ordered from outer to inner; the inner one decides. */
function add(sum, functions) {
  const now = new Uint8Array(sum.length)
  for (const { ranges } of functions) {
    for (const { startOffset, endOffset, count } of ranges) now.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  }
  for (let at = 0; at < sum.length; at++) sum[at] |= now[at]
}
