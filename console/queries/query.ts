import {
  type InfiniteData,
  infiniteQueryOptions,
  queryOptions,
  type UseInfiniteQueryResult,
} from '@tanstack/react-query'
import { useEffect } from 'react'
import type { AnswerOf, QueryOf } from '../../src/contract/console-api.ts'
import { fetchQuery, type QueryInput, type QueryName } from '../lib/api-client.ts'

/** The key of a query begins with its route name, which is what mutations invalidate. */
export const queryFor = <Name extends QueryName>(name: Name, options: QueryInput<Name>) =>
  queryOptions({
    queryKey: [name, options] as const,
    queryFn: ({ signal }): Promise<AnswerOf<Name>> => fetchQuery(name, options, signal),
  })

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

/** Routes that return pages. */
type PagedName = {
  [Name in QueryName]: AnswerOf<Name> extends Page<unknown>
    ? QueryOf<Name> extends { after?: string | undefined }
      ? Name
      : never
    : never
}[QueryName]

export const pagedQueryFor = <Name extends PagedName>(name: Name, options: QueryInput<Name>) =>
  infiniteQueryOptions({
    queryKey: [name, 'pages', options] as const,
    queryFn: ({ signal, pageParam }): Promise<AnswerOf<Name>> => {
      const query = pageParam === null ? options.query : { ...options.query, after: pageParam }
      return fetchQuery(name, { ...options, query } as QueryInput<Name>, signal)
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page: Page<unknown>) => page.next,
  })

export type Pages<Item> = UseInfiniteQueryResult<InfiniteData<Page<Item>>>

/** Loads the remaining pages of a list while all of it is wanted, such as for a search. */
export function useAllPages(
  {
    hasNextPage,
    isFetching,
    fetchNextPage,
  }: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetching' | 'fetchNextPage'>,
  isWanted: boolean,
): void {
  const isMissing = isWanted && hasNextPage && !isFetching
  useEffect(() => {
    if (isMissing) void fetchNextPage()
  }, [isMissing, fetchNextPage])
}

export const itemsOf = <Item>(data: { readonly pages: readonly Page<Item>[] } | undefined): Item[] =>
  data?.pages.flatMap((page) => page.items) ?? []
