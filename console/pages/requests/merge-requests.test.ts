import { describe, expect, it } from 'vitest'
import { mergeRequests } from './merge-requests.ts'

const rows = (...ids: string[]) => ids.map((id) => ({ id }))
const newest = (ids: string[], next: string | null = 'more') => ({ items: rows(...ids), next })

describe('the newest requests and those that were loaded before', () => {
  it('are one list without anything twice', () => {
    expect(mergeRequests(newest(['5', '4', '3']), rows('4', '3', '2', '1'))).toEqual({
      rows: rows('5', '4', '3', '2', '1'),
      gap: false,
    })
  })

  it('lose what has gone out of the list, as a request does that ran and ended', () => {
    expect(mergeRequests(newest(['5', '3']), rows('5', '4', '3', '2')).rows).toEqual(rows('5', '3', '2'))
    expect(mergeRequests(newest(['5'], null), rows('5', '4', '3')).rows).toEqual(rows('5'))
    expect(mergeRequests(newest([], null), rows('1')).rows).toEqual([])
  })

  it('say so when something between them is missing', () => {
    expect(mergeRequests(newest(['9', '8']), rows('3', '2'))).toEqual({ rows: rows('9', '8'), gap: true })
  })

  it('are what was loaded while the newest are not known', () => {
    expect(mergeRequests(undefined, rows('2', '1'))).toEqual({ rows: rows('2', '1'), gap: false })
  })
})
