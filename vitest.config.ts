import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            '{proto,matching,control-plane,data-plane,bench}/src/**/*.test.ts',
            'bench/micro/**/*.test.ts',
          ],
          setupFiles: ['vitest.patient-waits.ts'],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          // Built programs on real sockets: one file at a time, since they share the machine's cores.
          name: 'system',
          include: ['test/src/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
