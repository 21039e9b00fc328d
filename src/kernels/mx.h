// MLX, under its customary short name.
#pragma once

#include <mlx/mlx.h>

namespace mlxforge {
namespace mx = mlx::core;
}
