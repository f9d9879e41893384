import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { NodeView, Page } from '../api/types.ts'

export function useNodes() {
  return useQuery({ queryKey: ['nodes'], queryFn: () => call<Page<NodeView>>('/nodes') })
}
