import { type UseMutationResult, useMutation } from '@tanstack/react-query'
import type { QueryOf } from '../../src/contract/console-api.ts'
import { fetchFile } from '../lib/api-client.ts'
import { asProblem, type ConsoleProblem } from '../lib/console-problem.ts'
import type { DownloadName } from '../lib/route-address.ts'
import { saveFile } from '../lib/save-file.ts'
import { toast } from '../ui/toast.ts'

/** Fetches a file and saves it. A plain link could not say why there is none: the browser would call it a failed download. */
export const useDownload = <Name extends DownloadName>(
  name: Name,
): UseMutationResult<void, ConsoleProblem, QueryOf<Name>> =>
  useMutation({
    mutationFn: async (query: QueryOf<Name>) => {
      const file = await fetchFile(name, query).catch((error: unknown) => {
        throw asProblem(error)
      })
      saveFile(file)
    },
    onError: (problem) => toast({ tone: 'bad', problem }),
  })
